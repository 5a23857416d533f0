@Test
def testLowWatermarkAwaitsFencedMemberOfElr(): Unit = {
  val follower = brokerId + 1
  val replicas = Array(brokerId, follower)
  addBrokerEpochToMockMetadataCache(metadataCache, replicas)
  val log = logManager.getOrCreateLog(topicPartition, topicId.toJava)
  makeLeader(topicId, leaderEpoch = 5, isr = replicas, replicas = replicas, partitionEpoch = 1, isNew = true)
  seedLogData(log, numRecords = 1, leaderEpoch = 5)
  fetchFollower(partition, follower, fetchOffset = 1L, leaderEpoch = Some(5))

  when(metadataCache.hasAliveBroker(follower)).thenReturn(false)   // fenced, and in the ELR of the partition
  partition.deleteRecordsOnLeader(1L)
  assertEquals(0L, partition.lowWatermarkIfLeader) // today: 1
}
