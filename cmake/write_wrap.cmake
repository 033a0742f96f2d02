# Writes lanepool.wrap for the archive NAME.tar.gz in the working directory, from TEMPLATE.

file(SHA256 ${NAME}.tar.gz HASH)
configure_file(${TEMPLATE} lanepool.wrap @ONLY)
message(STATUS "${NAME}.tar.gz: ${HASH}")
