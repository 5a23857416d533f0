"""`check failures`: searches for each known failure of the library, also with each change that ends the failure."""
