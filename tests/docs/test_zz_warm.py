import subprocess,time,os
def test_a(warm,tmp_path,learned_home):
    for i in range(3):
        t=time.time()
        d=warm.hearth("--home",tmp_path/"h","init","--name","A",capture_output=True,text=True)
        print(i, d, time.time()-t)
    t=time.time()
    d=warm.hearth("--home",tmp_path/"h","ask","what time is it",capture_output=True,text=True)
    print(d, time.time()-t); t=time.time()
    d=warm.hearth("--home",tmp_path/"h","ask","what time is it",capture_output=True,text=True)
    print(d, time.time()-t); t=time.time()
    d=warm.hearth("--home",tmp_path/"h","doctor",capture_output=True,text=True)
    print(d, time.time()-t); t=time.time()
    d=warm.python("import sys; print(sys.argv, __name__); sys.exit(3)",capture_output=True,text=True)
    print(d, time.time()-t)
    os.system("ps aux | grep warm_process")
    assert 0
