@Test
public void testUnregisteredBrokerLeavesTheElr() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2);
    ctx.unfenceBrokers(0, 1, 2);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{0, 1, 2}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    ctx.fenceBrokers(2, 1);                     // ISR [0], ELR [1]
    unregister(ctx, 1);                         // unregisterBroker and replay
    assertArrayEquals(new int[0], ctx.replicationControl.getPartition(fooId, 0).elr);   // today: [1]
}
