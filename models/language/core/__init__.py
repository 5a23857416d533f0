"""The core of the modelling language: what the engines read, and how the rest of the language is written in it."""
