"""The placement of replicas on brokers, and what fails with a broker: leaders, writes, or whole partitions."""
