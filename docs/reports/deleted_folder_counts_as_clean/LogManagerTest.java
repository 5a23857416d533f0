@Test
public void testStartWithoutALogThatWasThereIsUnclean() throws Exception {
    UnifiedLog log = logManager.getOrCreateLog(new TopicPartition("foo", 0), topicId);
    log.appendAsLeader(TestUtils.singletonRecords("record".getBytes()), 0);
    logManager.shutdown(1234L);                // a clean shutdown in broker epoch 1234
    Utils.delete(log.dir());

    logManager = createLogManager();
    assertEquals(OptionalLong.empty(), logManager.readBrokerEpochFromCleanShutdownFiles());   // today: 1234
}
