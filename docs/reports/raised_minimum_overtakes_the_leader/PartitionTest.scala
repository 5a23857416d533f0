@Test
def testRaisedMinIsrIsInForceBeforeTheSmallerIsr(): Unit = {
  val follower = brokerId + 1
  val replicas = Array(brokerId, follower)
  configRepository.setTopicConfig(topicPartition.topic, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1")
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)

  makeLeader(topicId, leaderEpoch = 5, isr = replicas, replicas = replicas, partitionEpoch = 1, isNew = true)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)
  time.sleep(partition.replicaLagTimeMaxMs + 1)
  partition.maybeShrinkIsr()
  // The controller has raised the minimum to 2 by now, and has the follower in the ELR. This broker has not read it.
  alterPartitionManager.completeIsrUpdate(2)
  assertEquals(0L, log.highWatermark)   // today: 1
}
