# Writes the fixed parts of the HTML page as C.
#
#     cmake -DPAGE=<folder> -DOUTPUT=<file> -P embed.cmake
#
# The script and the style are each made of several files.

# Sets `result` to the Base64 form of a SHA-256, which is written in hexadecimal digits.
function(base64_of_hash hex result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  set(padded "${hex}00") # 33 bytes: 11 times 4 digits, of which the last one stands for the padding
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${padded}" ${at} 6 part)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${part} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 character)
      string(APPEND text "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

# Appends an asset to `source`.
function(add_asset name)
  set(joined "${OUTPUT}.${name}")
  file(WRITE "${joined}" "")
  foreach(file IN LISTS ARGN)
    file(READ "${PAGE}/${file}" text)
    file(APPEND "${joined}" "${text}")
  endforeach()
  file(SHA256 "${joined}" hash)
  base64_of_hash(${hash} hash)
  file(READ "${joined}" bytes HEX)
  file(REMOVE "${joined}")
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  set(source "${source}
static const char ${name}_bytes[] = {
    ${bytes}
};
const struct html_asset html_${name} = { ${name}_bytes, ${size}, \"sha256-${hash}\" };
" PARENT_SCOPE)
endfunction()

set(source "/* Written by embed.cmake. */\n#include \"draw/html_assets.h\"\n")
add_asset(style page.css)
add_asset(body body.html)
add_asset(script data.js words.js waits.js colours.js rows.js panel.js find.js page.js)
file(WRITE "${OUTPUT}" "${source}")
