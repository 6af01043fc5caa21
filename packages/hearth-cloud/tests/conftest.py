"""The service on both databases; see cloud_fixtures.py."""

from cloud_fixtures import clock as clock
from cloud_fixtures import postgres as postgres
from cloud_fixtures import serve as serve
from cloud_fixtures import small_storage as small_storage
from cloud_fixtures import storage as storage
from cloud_fixtures import url as url
