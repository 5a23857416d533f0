@Test
public void testElrOfLeaderlessPartitionSurvivesMinIsrUpdate() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2);
    ctx.unfenceBrokers(0, 1, 2);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{0, 1, 2}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    ctx.fenceBrokers(2, 1, 0);                 // ISR [], ELR [0, 1], last known leader 0
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
    ctx.unfenceBrokers(0, 1, 2);
    assertNotEquals(-1, ctx.replicationControl.getPartition(fooId, 0).leader);   // today: -1
}
