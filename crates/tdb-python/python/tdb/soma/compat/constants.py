"""Names and versions of the encoding."""

from __future__ import annotations

SOMA_JOINID = "soma_joinid"
SOMA_GEOMETRY = "soma_geometry"
SOMA_DATA = "soma_data"
SOMA_COORDINATE_SPACE_METADATA_KEY = "soma_coordinate_space"
SOMA_MULTISCALE_IMAGE_SCHEMA = "soma_multiscale_image_schema"
SOMA_OBJECT_TYPE_METADATA_KEY = "soma_object_type"
SOMA_ENCODING_VERSION_METADATA_KEY = "soma_encoding_version"
SOMA_ENCODING_VERSION = "1.1.0"
SUPPORTED_SOMA_ENCODING_VERSIONS = {"1", "1.1.0"}
SOMA_SPATIAL_VERSION_METADATA_KEY = "soma_spatial_encoding_version"
SOMA_SPATIAL_ENCODING_VERSION = "0.2.0"
SOMA_DATAFRAME_ORIGINAL_INDEX_NAME_JSON = "soma_dataframe_original_index_name"
