# memsnap_target(NAME): what every target of this project is compiled with.
include(CheckIPOSupported)

function(memsnap_target name)
  set_target_properties(${name} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
      -Wstrict-prototypes -Wmissing-prototypes)
    if(MEMSNAP_WERROR)
      target_compile_options(${name} PRIVATE -Werror)
    endif()
  endif()
  if(MEMSNAP_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${MEMSNAP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # PUBLIC: whoever links sanitized objects needs the run-time library as well.
    target_link_options(${name} PUBLIC -fsanitize=${MEMSNAP_SANITIZE})
  endif()
  if(MEMSNAP_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(MEMSNAP_LTO)
    check_ipo_supported(RESULT _ipo OUTPUT _why LANGUAGES C)
    if(_ipo)
      set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    endif()
  endif()
endfunction()
