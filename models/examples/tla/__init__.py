"""Public TLA+ examples, written again in the modelling language, and the figures that TLC reports for them."""
