# sysbench with $load and $events, then the number of rows.
. ./start
sysbench $load $options --threads=$THREADS --events=$events --time=0 run
mariadb --no-defaults --socket="$socket" -u root -B -N -e 'SELECT COUNT(*) FROM sbtest.sbtest1'
