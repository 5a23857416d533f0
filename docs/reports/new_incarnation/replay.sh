#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.1 --bound 11 --elections 2 --partition-changes 5 --power-losses 1 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
check failures 8.26
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 4.1 --bound 12 --elections 2 --partition-changes 5 --power-losses 1 --switch EPOCH_BUMP_ON_SHRINK=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
