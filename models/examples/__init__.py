"""Small models to learn the language from."""
