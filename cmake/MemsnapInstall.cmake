# Headers, config package (find_package(memsnap) -> memsnap::memsnap), pkg-config files, man page.
include(CMakePackageConfigHelpers)

set(_cairo_private "")
set(_cairo_public "")
if(MEMSNAP_HAS_CAIRO)
  set(_cairo_private "\nRequires.private: cairo")
  set(_cairo_public ", cairo")
endif()
# Who links a static library links its dependencies too.
if(BUILD_SHARED_LIBS)
  set(MEMSNAP_IS_STATIC OFF)
  set(MEMSNAP_PC_PRIVATE "Requires.private: zlib\nLibs.private: -lm -pthread")
  set(MEMSNAP_RENDER_PC_PRIVATE "Requires: memsnap${_cairo_private}\nLibs.private: -lm")
  set(MEMSNAP_PC_LIBS "")
else()
  set(MEMSNAP_IS_STATIC ON)
  set(MEMSNAP_PC_PRIVATE "Requires: zlib")
  set(MEMSNAP_RENDER_PC_PRIVATE "Requires: memsnap${_cairo_public}")
  set(MEMSNAP_PC_LIBS " -lm")
endif()

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/memsnap)
set(_targets memsnap memsnap_render)
set_target_properties(memsnap_render PROPERTIES EXPORT_NAME render)

install(TARGETS ${_targets} EXPORT memsnapTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY lib/include/memsnap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT memsnapTargets NAMESPACE memsnap:: DESTINATION ${_package_dir})

configure_package_config_file(cmake/memsnapConfig.cmake.in ${PROJECT_BINARY_DIR}/memsnapConfig.cmake
  INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/memsnapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/memsnapConfig.cmake ${PROJECT_BINARY_DIR}/memsnapConfigVersion.cmake
  DESTINATION ${_package_dir})

# Full paths, so that an absolute CMAKE_INSTALL_LIBDIR works too.
configure_file(cmake/memsnap.pc.in ${PROJECT_BINARY_DIR}/memsnap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/memsnap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/memsnap-render.pc.in ${PROJECT_BINARY_DIR}/memsnap-render.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/memsnap-render.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET memsnap_program)
  install(TARGETS memsnap_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/memsnap.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
