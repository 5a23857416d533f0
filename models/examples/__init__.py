"""Small models for learning the language."""
