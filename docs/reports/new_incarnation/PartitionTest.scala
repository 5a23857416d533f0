@Test
def testFetchOfUnknownIncarnationDoesNotCount(): Unit = {
  val member = brokerId + 1
  val replicas = Array(brokerId, member, brokerId + 2)
  configRepository.setTopicConfig(topicPartition.topic, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2")
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)

  makeLeader(topicId, leaderEpoch = 5, isr = Array(brokerId, member), replicas = replicas, partitionEpoch = 1, isNew = true)
  fetchFollower(partition, member, fetchOffset = 0L)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)

  // A new process of the member, of whose registration this broker has not read yet. The repair refuses these fetches.
  Seq(0L, 1L).foreach { offset =>
    scala.util.Try(fetchFollower(partition, member, fetchOffset = offset, replicaEpoch = Some(defaultBrokerEpoch(member) + 1)))
  }
  assertEquals(0L, log.highWatermark)   // today: 1
}
