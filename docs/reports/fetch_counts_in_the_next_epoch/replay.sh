#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.3 --bound 11 --replicas 2 --elections 2 --crashes 0 --reassignments 2 --set start_isr=3 --switch ELR_WITHIN_REPLICAS=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch FETCH_IS_SPLIT=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check failures 8.41
# Takes the steps of the history again. The executable cluster does not divide them so:
trace show history.itf.json
# The searches with the change:
check kafka --protocol 4.3 --replicas 2 --elections 2 --crashes 0 --reassignments 2 --set start_isr=3 --switch ELR_WITHIN_REPLICAS=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch FETCH_IS_SPLIT=on --switch FETCH_COUNTED_IN_ITS_EPOCH=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
