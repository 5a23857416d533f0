@Test
def testDivergingAnswerOfEarlierEpochDoesNotTruncate(): Unit = {
  val partition = new TopicPartition("topic", 0)
  val mockLeaderEndpoint = new MockLeaderEndPoint(version = version)
  val fetcher = new MockFetcherThread(mockLeaderEndpoint, new MockTierStateMachine(mockLeaderEndpoint))
  val log = Seq(mkBatch(baseOffset = 0, leaderEpoch = 0, new SimpleRecord("a".getBytes)))
  fetcher.setReplicaState(partition, PartitionState(log, leaderEpoch = 1, highWatermark = 0L))
  fetcher.addPartitions(Map(partition -> initialFetchState(topicIds.get(partition.topic), 1L, leaderEpoch = 1)))
  val answer = new FetchResponseData.EpochEndOffset().setEpoch(0).setEndOffset(0L) // checked in epoch 1

  // The broker led epoch 2, committed the record, and follows in epoch 3.
  fetcher.removePartitions(Set(partition))
  fetcher.addPartitions(Map(partition -> initialFetchState(topicIds.get(partition.topic), 1L, leaderEpoch = 3)))
  fetcher.truncateOnFetchResponse(Map(partition -> new EpochEndOffset()
    .setPartition(0).setErrorCode(Errors.NONE.code).setLeaderEpoch(answer.epoch).setEndOffset(answer.endOffset)))
  assertEquals(1L, fetcher.replicaPartitionState(partition).logEndOffset) // today: 0
}
