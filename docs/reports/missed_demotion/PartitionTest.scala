@Test
def testReelectedLeaderForgetsFollowerOffsetsOfSkippedEpoch(): Unit = {
  val (follower, member) = (brokerId + 1, brokerId + 2)
  val replicas = Array(brokerId, follower, member)
  configRepository.setTopicConfig(topicPartition.topic, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2")
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)

  makeLeader(topicId, leaderEpoch = 5, isr = replicas, replicas = replicas, partitionEpoch = 1, isNew = true)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)
  fetchFollower(partition, member, fetchOffset = 1L, leaderEpoch = Some(5))
  fetchFollower(partition, follower, fetchOffset = 0L, leaderEpoch = Some(5))
  assertEquals(0L, log.highWatermark)

  // Epoch 6 was led by the follower, and this broker never applied it.
  makeLeader(topicId, leaderEpoch = 7, isr = Array(brokerId, member), replicas = replicas, partitionEpoch = 4, isNew = false)
  assertEquals(0L, log.highWatermark) // today: 1
  assertEquals(UnifiedLog.UNKNOWN_OFFSET, partition.getReplica(member).get.stateSnapshot.logEndOffset) // today: 1
}
