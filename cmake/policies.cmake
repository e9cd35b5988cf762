# policy_digests.h: SHA-256 of each shipped policy. A file that says the same as it did here is run in the state of whoever loads it
# (lua/procage/own_script.lua).
file(GLOB policy_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/policies/*.lua)
set(policy_digests "")
foreach(file ${policy_files})
  file(SHA256 ${file} digest)
  string(APPEND policy_digests "\"${digest}\",\n")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${policy_files})
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/policy_digests.h CONTENT "${policy_digests}" @ONLY)
