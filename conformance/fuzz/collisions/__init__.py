"""Programs whose names collide on purpose, and a comparison of states with their permutations."""
