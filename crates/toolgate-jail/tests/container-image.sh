#!/usr/bin/env bash
# Gives the container engines of this machine the image of the tests, made from Debian's packages; `./check --all` installs engines. Run again, it makes only what is missing.
#   container-image.sh FOLDER [PID]    keeps the image's archive, the runtimes' wrappers and the daemon's data in FOLDER
# Prints one line for each engine and runtime in which a program has run: `ready ENGINE RUNTIME`, else `skipped ENGINE RUNTIME: WHY`.
# As root it starts dockerd where none answers, and ends it when the process PID has ended; without PID it stays.
set -uo pipefail
folder=${1:?the folder to keep things in}
user=${2:-}
image=toolgate-jail-test
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 2
root=$([ "$(id -u)" = 0 ] && echo yes)
exec 3>&1 >>"$folder/log" 2>&1 # what it says goes to 3: a daemon must not keep the caller's pipe open

say() { printf '%s\n' "$*" >&3; }
has() { command -v "$1" >/dev/null; }

archive() { # a file system with Python
  [ -s "$folder/root.tar" ] && return 0
  local suite=bookworm
  rm -rf "$folder/root.part" "$folder/root"
  if has mmdebstrap; then
    nice mmdebstrap --variant=minbase --include=python3-minimal,libpython3-stdlib --format=tar "$suite" "$folder/root.part"
  elif has debootstrap; then
    nice debootstrap --variant=minbase --include=python3-minimal,libpython3-stdlib "$suite" "$folder/root" &&
      tar --numeric-owner -C "$folder/root" -cf "$folder/root.part" . && rm -rf "$folder/root"
  else
    return 1
  fi && mv "$folder/root.part" "$folder/root.tar"
}

wrapper() { # name, script: a runtime with what this machine needs to run it
  printf '#!/bin/sh\n%s\n' "$2" >"$folder/$1" && chmod 755 "$folder/$1"
}

wrappers() {
  wrapper runc "exec $(command -v runc || echo runc) \"\$@\""
  # Where both versions of control groups are mounted, crun is shown the first only.
  wrapper crun "[ -d /sys/fs/cgroup/unified ] && exec unshare -m sh -c 'umount /sys/fs/cgroup/unified; exec $(command -v crun || echo crun) \"\$@\"' crun \"\$@\"
exec $(command -v crun || echo crun) \"\$@\""
  # Without virtual machines, and without a network of its own: `--network none` has nothing to take part in.
  wrapper runsc "exec $(command -v runsc || echo runsc) --platform=ptrace --network=none \"\$@\""
}

daemon() {
  timeout 10 docker version >/dev/null && return 0
  [ "$root" ] && has dockerd || return 1
  local runtimes=()
  for runtime in crun runsc; do
    has "$runtime" && runtimes+=(--add-runtime "$runtime=$folder/$runtime")
  done
  # No bridge: the containers have no network.
  setsid dockerd --iptables=false --ip6tables=false --bridge=none --default-ulimit nofile=1024:1024 --pidfile "$folder/dockerd.pid" \
    --data-root "$folder/docker" --exec-root "$folder/docker-run" "${runtimes[@]}" </dev/null >"$folder/dockerd.log" 2>&1 3>&- &
  if [ "$user" ]; then
    setsid sh -c 'tail --pid="$1" -f /dev/null; kill "$(cat "$2")"' sh "$user" "$folder/dockerd.pid" </dev/null 3>&- &
  fi
  timeout 30 sh -c 'until docker version; do sleep 0.2; done' >/dev/null
}

runner() { # engine, runtime: what runs the container that follows
  case $1 in
    docker) run=(docker run --runtime "$2") ;;
    # Without systemd podman makes control groups itself; it may not raise limits that its own process does not have.
    podman) run=(podman $([ -d /run/systemd/system ] || echo --cgroup-manager=cgroupfs) --runtime "$2" run --ulimit nofile=256:256 --ulimit nproc=1024:1024) ;;
  esac
}

trial() { # engine, runtime as the engine is given it, its name: does a program run?
  local run why
  has "$3" || { say "skipped $1 $3: it is not installed"; return; }
  runner "$1" "$2"
  if why=$(timeout 60 "${run[@]}" --rm --pull=never --network none "$image" true 2>&1); then
    say "ready $1 $2"
  else
    say "skipped $1 $3: $(printf '%s' "$why" | tr '\n' ' ' | cut -c -300)"
  fi
}

image_in() { # engine
  timeout 60 "$1" image inspect "$image" >/dev/null || timeout 600 nice "$1" import "$folder/root.tar" "$image"
}

wrappers
archive || { say "skipped docker and podman: the image could not be made; see $folder/log"; exit 0; }
if ! has podman; then
  say "skipped podman: it is not installed"
elif ! image_in podman; then
  say "skipped podman: it takes no image; see $folder/log"
else
  for runtime in runc crun runsc; do trial podman "$folder/$runtime" "$runtime"; done
fi
if ! has docker; then
  say "skipped docker: it is not installed"
elif ! daemon; then
  say "skipped docker: no daemon answers, and none starts here; see $folder/dockerd.log"
elif ! image_in docker; then
  say "skipped docker: it takes no image; see $folder/log"
else
  for runtime in runc crun runsc; do trial docker "$runtime" "$runtime"; done
fi
exit 0
