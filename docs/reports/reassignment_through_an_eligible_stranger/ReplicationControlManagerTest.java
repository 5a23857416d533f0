@Test
public void testRemovedLeaderLeavesTheElr() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(1, 2, 3, 4);
    ctx.unfenceBrokers(1, 2, 3, 4);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{1, 2, 3}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    ctx.fenceBrokers(3, 2);                     // ISR [1], ELR [2]
    reassign(ctx, "foo", 0, List.of(4, 2, 3));  // alterPartitionReassignments and replay
    alterPartition(ctx, fooId, 0, List.of(1, 4));   // 4 has copied everything: complete, leader 4, ISR [4]
    assertArrayEquals(new int[] {2}, ctx.replicationControl.getPartition(fooId, 0).elr);   // today: [1, 2]
}
