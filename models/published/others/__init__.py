"""Models that other people published, written again in the modelling language. Each module is one model; counts.csv has
the numbers of states that the models' authors report."""
