"""Where a service's storage is, as any of its processes opens it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.storage.cloud_storage import Storage
from hearth_cloud.storage.objects import Objects


@dataclass(frozen=True, slots=True)
class StoragePlace:
    """Addresses of the database and of the object store; the latter empty where blobs lie in the database."""

    database: str
    objects: str = ""
    endpoint: str = ""

    @classmethod
    def of(cls, settings: CloudSettings, environ: Mapping[str, str] = os.environ) -> StoragePlace:
        """Return what settings name. Raises: ConfigError: A variable that they name is not set."""
        service = settings.service
        return cls(settings.database_url(environ), service.objects, service.objects_endpoint)

    def open(self, *, migrates: bool = True) -> Storage:
        """Open the storage. Raises: StoreError, ConfigError.

        Args:
            migrates: False where another process of the same service has brought the tables up to date.
        """
        objects = Objects.open(self.objects, self.endpoint) if self.objects else None
        return Storage.open(self.database, migrates=migrates, objects=objects)
