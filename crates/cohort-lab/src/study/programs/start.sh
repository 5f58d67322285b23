# MariaDB in $FOLDER/data, listening on a socket there; ends with the shell.
socket=$FOLDER/socket
options="--mysql-socket=$socket --mysql-user=root --mysql-db=sbtest --tables=2
    --table-size=2000 --db-ps-mode=disable"
mariadbd --no-defaults --datadir="$FOLDER/data" --socket="$socket" --user="$(id -un)" \
    --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=16M \
    --innodb-flush-log-at-trx-commit=0 --skip-grant-tables 2> log &
server=$!
trap 'kill $server; wait $server || true' EXIT
until mariadb --no-defaults --socket="$socket" -u root -e 'SELECT 1' > /dev/null 2>&1; do
    kill -0 $server
    sleep 0.05
done
