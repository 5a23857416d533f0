"""`check family`: the small models around replication, each with a table of cases and what a search finds in them."""
