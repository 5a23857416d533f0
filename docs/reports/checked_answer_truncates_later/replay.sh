#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.3 --bound 17 --replicas 2 --elections 3 --crashes 0 --preferred-elections 3 --set start_isr=3 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch DIVERGING_ANSWER_IS_SPLIT=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check failures 8.42
# Takes the steps of the history again. The executable cluster does not divide them so:
trace show history.itf.json
# The searches with the change:
check kafka --protocol 4.3 --replicas 2 --elections 3 --crashes 0 --preferred-elections 3 --set start_isr=3 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
