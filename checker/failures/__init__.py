"""`check failures`: searches each known failure of the library, as it is and with each change that ends the failure."""
