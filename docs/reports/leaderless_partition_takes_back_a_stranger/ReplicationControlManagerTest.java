@Test
public void testReaddedReplicaIsNotEligible() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2);
    ctx.unfenceBrokers(0, 1, 2);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{0, 1, 2}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    reassign(ctx, "foo", 0, List.of(0));        // alterPartitionReassignments and replay; ELR today: [1, 2]
    ctx.fenceBrokers(0, 1, 2);
    reassign(ctx, "foo", 0, List.of(0, 1, 2));  // replicas 1 and 2 are empty
    ctx.unfenceBrokers(1);
    assertEquals(-1, ctx.replicationControl.getPartition(fooId, 0).leader);   // today: 1
}
