"""Public TLA+ examples, written again in the modelling language, and the counts that TLC reports for them."""
