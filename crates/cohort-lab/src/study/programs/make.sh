# A database with sysbench's tables.
mariadb-install-db --no-defaults --datadir="$FOLDER/data" --skip-test-db \
    --auth-root-authentication-method=normal --user="$(id -un)" > /dev/null
. ./start
mariadb --no-defaults --socket="$socket" -u root -e 'CREATE DATABASE sbtest'
sysbench oltp_read_write $options prepare
