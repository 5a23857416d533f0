"""Which brokers hold the replicas of which partition, and what the loss of some of them takes along."""
