@Test
public void testCancelledReplicaLeavesTheElr() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2, 3);
    ctx.unfenceBrokers(0, 1, 2, 3);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    ctx.fenceBrokers(1);                           // ISR [0], ELR [1]
    reassign(ctx, "foo", 0, List.of(0, 2, 3));     // alterPartitionReassignments and replay
    alterPartition(ctx, fooId, 0, List.of(0, 2));  // 2 has copied everything, 3 has not: ISR [0, 2], ELR []
    reassign(ctx, "foo", 0, null);                 // cancelled: replicas [0, 1], ISR [0]; 2 deletes its log
    assertArrayEquals(new int[0], ctx.replicationControl.getPartition(fooId, 0).elr);   // today: [2]
}
