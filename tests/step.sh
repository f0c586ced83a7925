# sh tests/step.sh STAMP COMMAND: a step of the tests. The command writes into STAMP.log; where it succeeds STAMP is touched and
# the log's account is shown (what was skipped and why, how many passed), where it fails the whole log is.
# Within the command, `each c '..'` or `each c++ '..'` runs a part once with $CC set to a compiler of each family installed, `one c '..'` with cc,
# `other c '..'` with clang, since `ninja test` takes cc.

# Python keeps what it compiles. Below build/ it would compile the installed packages again.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX

each() {
  case $1 in c) families='gcc clang' ;; *) families='g++ clang++' ;; esac
  for family in $families; do
    for version in '' -19 -18 -17 -16 -15 -14; do
      CC=$family$version
      command -v "$CC" || continue
      eval "$2" || return 1
      break
    done
  done
}

other() {
  for version in '' -19 -18 -17 -16 -15 -14; do
    CC=clang$version
    command -v "$CC" || continue
    eval "$2"
    return
  done
  echo "SKIP: no clang"
}

one() {
  CC=cc
  eval "$2"
}

if (eval "$2") > "$1.log" 2>&1; then
  grep -E '^(SKIP|[0-9]+ (passed|skipped))' "$1.log" || echo '1 passed'
  touch "$1"
else
  cat "$1.log"
  grep -Eq '^[0-9]+ failed' "$1.log" || echo '1 failed'
  exit 1
fi
