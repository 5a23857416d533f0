"""placeholder"""

from conformance.cluster.storage import MemoryStorage


class FileStorage(MemoryStorage):
    def __init__(self, directory: object, n: int) -> None:
        super().__init__()
