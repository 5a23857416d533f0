@Test
public void testElrCountsThePartitionsOwnReplicas() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2);
    ctx.unfenceBrokers(0, 1, 2);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{0, 1, 2}, {0, 1, 2}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    reassign(ctx, "foo", 0, List.of(0));        // alterPartitionReassignments and replay
    ctx.fenceBrokers(2, 1);
    assertArrayEquals(new int[] {1}, ctx.replicationControl.getPartition(fooId, 1).elr);   // today: []
}
