@Test
public void testReportedDirectoryKeepsTheElr() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    Uuid dir1 = Uuid.fromString("hO2YI5bgRUmByNPHiHxjNQ");
    Uuid dir2 = Uuid.fromString("R3Gb1HLoTzuKMgAkH5Vtpw");
    ctx.registerBrokersWithDirs(1, asList(dir1, dir2), 2, singletonList(Uuid.fromString("TBGa8UayQi6KguqF5nC0sw")));
    ctx.unfenceBrokers(1, 2);
    Uuid fooId = ctx.createTestTopic("foo", new int[][] {{1, 2}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    ctx.fenceBrokers(2);                        // ISR [1], ELR [2]
    ctx.assignReplicasToDirs(1, Collections.singletonMap(new TopicIdPartition(fooId, 0), dir2));
    assertArrayEquals(new int[] {2}, ctx.replicationControl.getPartition(fooId, 0).elr);   // today: [] in 4.0 to 4.2
}
