@Test
def testMetadataRecordOfKnownPartitionEpochKeepsPendingExpansion(): Unit = {
  val (member, joiner) = (brokerId + 1, brokerId + 2)
  val replicas = Array(brokerId, member, joiner)
  configRepository.setTopicConfig(topicPartition.topic, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2")
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)

  makeLeader(topicId, leaderEpoch = 5, isr = replicas, replicas = replicas, partitionEpoch = 1, isNew = true)
  fetchFollower(partition, joiner, fetchOffset = 0L)
  time.sleep(partition.replicaLagTimeMaxMs + 1)
  fetchFollower(partition, member, fetchOffset = 0L)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)
  partition.maybeShrinkIsr()
  alterPartitionManager.completeIsrUpdate(2)   // the answer: ISR without the joiner, partition epoch 2
  fetchFollower(partition, joiner, fetchOffset = 0L)   // an expansion is pending

  val record = new PartitionRegistration.Builder()   // the record of the shrink, which is late
    .setLeader(brokerId)
    .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
    .setLeaderEpoch(5)
    .setIsr(Array(brokerId, member))
    .setPartitionEpoch(2)
    .setReplicas(replicas)
    .setDirectories(DirectoryId.unassignedArray(replicas.length))
    .build()
  partition.makeLeader(record, isNew = false, offsetCheckpoints, topicId)
  assertTrue(partition.partitionState.isInflight)   // today: false
  fetchFollower(partition, member, fetchOffset = 1L)
  assertEquals(0L, log.highWatermark)   // today: 1
}
