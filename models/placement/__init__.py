"""Which brokers hold the replicas of which partition, and what a lost broker takes with it."""
