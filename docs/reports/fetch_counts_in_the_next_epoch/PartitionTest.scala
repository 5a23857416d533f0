@Test
def testFetchOfEarlierEpochDoesNotUpdateFollower(): Unit = {
  val follower = brokerId + 1
  val replicas = Array(brokerId, follower)
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)
  makeLeader(topicId, leaderEpoch = 5, isr = replicas, replicas = replicas, partitionEpoch = 1, isNew = true)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)
  val checked = partition.getReplica(follower).get // what the first section of fetchRecords hands to the second one

  // The follower is removed and added again: one delta, in which it loses its log.
  makeLeader(topicId, leaderEpoch = 7, isr = Array(brokerId), replicas = replicas, partitionEpoch = 3, isNew = false)
  partition.updateFollowerFetchState(checked, new LogOffsetMetadata(1L), 0L, time.milliseconds(), 1L, defaultBrokerEpoch(follower))
  assertFalse(partition.partitionState.isInflight) // today: true, the expansion by the empty follower
}
