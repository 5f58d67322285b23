# memcached with $THREADS threads, asked by memcaslap, with the shares $sets and $gets.
printf 'key\n32 32 1\nvalue\n256 256 1\ncmd\n0 %s\n1 %s\n' "$sets" "$gets" > mix
memcached -u nobody -l 127.0.0.1 -p $PORT -U 0 -t $THREADS -m 64 &
server=$!
trap 'kill $server; wait $server || true' EXIT
until memcping --servers=127.0.0.1:$PORT > /dev/null 2>&1; do kill -0 $server; sleep 0.02; done
memcaslap -s 127.0.0.1:$PORT -F mix -T 2 -c 16 -x 60000 > said
# It prints tenths of a second; its rate is finer.
awk '/^Run time:/ { printf "seconds: %.6f\n", $5 / $7 }' said
memcstat --servers=127.0.0.1:$PORT | sed -n 's/^[[:space:]]*\(cmd_[gs]et\): /STAT \1 /p'
