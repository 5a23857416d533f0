"""What a cut of the network takes away from the clients of a partition."""
