"""What Kafka adds to the vocabulary of a log."""

from models.log import cut_log


def holds_record(s, r, record):
    return any(s.log_record[r][offset] == record for offset in range(s.log_size))


def truncate_log(s, r, end_offset):
    """Cut a log at `end_offset`. Kafka: Log.truncateTo; up to 2.1 it leaves the high watermark where it was."""
    cut_log(s, r, end_offset)
    if s.HW_CLAMPED_AT_TRUNCATION:
        s.high_watermark[r] = min(s.high_watermark[r], s.log_end_offset[r])
